# dss: decision support. A few queries scan large tables in large blocks and use CPU time on what they read.
set $dir=/tmp
set $filesize=256m
set $nthreads=8
set $iosize=1m
set $usermode=300000
set $runtime=60

define fileset name=tables,path=$dir,size=$filesize,entries=$nthreads,dirwidth=1024,prealloc=100,readonly

define process name=queries,instances=1 {
  thread name=scan,instances=$nthreads {
    flowop read name=tablescan,filesetname=tables,iosize=$iosize,fd=1
    flowop hog name=aggregate,value=$usermode
  }
}

echo "DSS personality loaded"
run $runtime
