# Random synchronous writes of a file that is there.
set $dir=/tmp
set $bytes=1m
set $filesize=2m
set $iosize=4k
set $nthreads=1
set $runtime=1
set mode quit firstdone
define file name=bigfile1,path=$dir,size=$filesize,prealloc
define process name=filewriter,instances=1 {
  thread name=filewriterthread,memsize=10m,instances=$nthreads {
    flowop write name=write-file,filename=bigfile1,random,dsync,iosize=$iosize,iters=8
    flowop fsync name=sync-file,filename=bigfile1
    flowop finishonbytes name=finish,value=$bytes
  }
}
create files
run $runtime
