# mongo: a document store of small files. Each thread stores one, and reads and deletes another.
set $dir=/tmp
set $nfiles=50000
set $nthreads=1
set $meandirwidth=100
set $filesize=16k
set $iosize=16k
set $runtime=60

set mode quit firstdone
define fileset name=documents,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=50

define process name=store,instances=1 {
  thread name=client,instances=$nthreads {
    flowop createfile name=createfile1,filesetname=documents,fd=1
    flowop appendfile name=appendfile1,iosize=$iosize,fd=1
    flowop closefile name=closefile1,fd=1
    flowop openfile name=openfile1,filesetname=documents,fd=1
    flowop readwholefile name=readfile1,fd=1,iosize=$iosize
    flowop closefile name=closefile2,fd=1
    flowop deletefile name=deletefile1,filesetname=documents
  }
}

echo "Document store personality loaded"
run $runtime
