# Version 1.4: random reads of one file, with the words for the cache.
set $dir=/tmp
set $cached=false
set $count=1000
set $filesize=2m
set $iosize=2k
set $iters=3
set $nthreads=2
set $runtime=1
define file name=bigfile1,path=$dir,size=$filesize,prealloc,reuse=false,cached=$cached

define process name=filereader,instances=1
{
  thread name=filereaderthread,memsize=10m,instances=$nthreads
  {
    flowop read name=write-file,filesetname=bigfile1,random,iosize=$iosize,iters=$iters
    flowop finishoncount name=finish,value=$count
  }
}
echo "random read personality"
stats clear
run $runtime
stats snap
