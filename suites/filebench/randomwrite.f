# randomwrite: writes random small blocks of one large file.
set $dir=/tmp
set $filesize=1g
set $iosize=8k
set $nthreads=1
set $workingset=0
set $directio=false
set $runtime=60

define file name=largefile,path=$dir,size=$filesize,prealloc

define process name=randomio,instances=1 {
  thread name=writer,memsize=5m,instances=$nthreads {
    flowop write name=write1,filename=largefile,iosize=$iosize,random,workingset=$workingset,directio=$directio
  }
}

echo "Random write personality loaded"
run $runtime
