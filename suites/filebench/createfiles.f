# createfiles: creates, writes and closes files, until all of them exist.
set $dir=/tmp
set $nfiles=50000
set $nthreads=16
set $meandirwidth=100
set $filesize=16k
set $iosize=1m
set $runtime=60

set mode quit firstdone
define fileset name=files,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth

define process name=creator,instances=1 {
  thread name=create,memsize=10m,instances=$nthreads {
    flowop createfile name=createfile1,filesetname=files,fd=1
    flowop writewholefile name=writefile1,fd=1,iosize=$iosize
    flowop closefile name=closefile1,fd=1
  }
}

echo "Create personality loaded"
run $runtime
