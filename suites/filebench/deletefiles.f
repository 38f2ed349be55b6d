# deletefiles: deletes files until none is left.
set $dir=/tmp
set $nfiles=50000
set $nthreads=16
set $meandirwidth=100
set $filesize=16k
set $runtime=60

set mode quit firstdone
define fileset name=files,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=100

define process name=remover,instances=1 {
  thread name=remove,instances=$nthreads {
    flowop deletefile name=deletefile1,filesetname=files
  }
}

echo "Delete personality loaded"
run $runtime
