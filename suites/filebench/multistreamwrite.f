# multistreamwrite: writes five large files sequentially, one thread each.
set $dir=/tmp
set $filesize=1g
set $iosize=1m
set $directio=false
set $runtime=60

define file name=stream1,path=$dir,size=$filesize,prealloc
define file name=stream2,path=$dir,size=$filesize,prealloc
define file name=stream3,path=$dir,size=$filesize,prealloc
define file name=stream4,path=$dir,size=$filesize,prealloc
define file name=stream5,path=$dir,size=$filesize,prealloc

define process name=streams,instances=1 {
  thread name=stream1,memsize=10m {
    flowop write name=write1,filename=stream1,iosize=$iosize,directio=$directio
  }
  thread name=stream2,memsize=10m {
    flowop write name=write2,filename=stream2,iosize=$iosize,directio=$directio
  }
  thread name=stream3,memsize=10m {
    flowop write name=write3,filename=stream3,iosize=$iosize,directio=$directio
  }
  thread name=stream4,memsize=10m {
    flowop write name=write4,filename=stream4,iosize=$iosize,directio=$directio
  }
  thread name=stream5,memsize=10m {
    flowop write name=write5,filename=stream5,iosize=$iosize,directio=$directio
  }
}

echo "Stream personality loaded"
run $runtime
