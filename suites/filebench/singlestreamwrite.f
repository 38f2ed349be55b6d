# singlestreamwrite: writes one large file sequentially.
set $dir=/tmp
set $filesize=1g
set $iosize=1m
set $directio=false
set $runtime=60

define file name=stream1,path=$dir,size=$filesize,prealloc

define process name=streams,instances=1 {
  thread name=stream1,memsize=10m {
    flowop write name=write1,filename=stream1,iosize=$iosize,directio=$directio
  }
}

echo "Stream personality loaded"
run $runtime
