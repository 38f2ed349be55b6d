# Files are made until so many are; nothing says how the run quits.
set $dir=/tmp
set $count=100
set $iosize=16k
set $filesize=64k
set $nthreads=1
set $runtime=1
define fileset name=bigfile,path=$dir,size=$filesize,entries=1000,dirwidth=64
define process name=filecreate,instances=1 {
  thread name=filecreatethread,memsize=10m,instances=$nthreads {
    flowop createfile name=createfile1,filesetname=bigfile,fd=1
    flowop write name=write-file,iosize=$iosize,fd=1,iters=4
    flowop closefile name=close,fd=1
    flowop finishoncount name=finish,value=$count,target=close
  }
}
run $runtime
