# copyfiles: copies a tree file by file into an empty one, until that is full.
set $dir=/tmp
set $nfiles=1000
set $nthreads=1
set $meandirwidth=20
set $filesize=16k
set $iosize=1m
set $runtime=60

set mode quit firstdone
define fileset name=source,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=100
define fileset name=copies,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth

define process name=copier,instances=1 {
  thread name=copy,memsize=10m,instances=$nthreads {
    flowop openfile name=openfile1,filesetname=source,fd=1
    flowop readwholefile name=readfile1,fd=1,iosize=$iosize
    flowop createfile name=createfile2,filesetname=copies,fd=2
    flowop writewholefile name=writefile2,fd=2,srcfd=1,iosize=$iosize
    flowop closefile name=closefile1,fd=1
    flowop closefile name=closefile2,fd=2
  }
}

echo "Copy personality loaded"
run $runtime
