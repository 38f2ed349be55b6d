# Version 1.4: sizes from random variables whose fields are set one by one, and from a table.
set $dir=/tmp
set $filesize=4m
set $runtime=1
define randvar name=$iosize,type=uniform,seed=12345,min=1k,round=1k
define randvar name=$where,type=tabular,mean=8k,min=1k,round=1k,
  randtable = {{ 85, 0k, 16k },
               {  8, 16k, 64k },
               {  7, 64k, 128k }}
set $iosize.mean = 12k
define randvar name=$filelen,type=gamma,mean=$filesize,gamma=1500
define fileset name=files,path=$dir,entries=20,dirwidth=5,filesize=$filelen,prealloc=50
define file name=one,path=$dir,size=$filesize,prealloc
define process name=writers,instances=2 {
  thread name=writer,memsize=4m,instances=2 {
    flowop write name=seqwrite,filesetname=one,iosize=$iosize,iters=4
    flowop openfile name=open,filesetname=files,fd=1
    flowop write name=randwrite,fd=1,random,iosize=$where
    flowop read name=randread,fd=1,random,iosize=$where
    flowop closefile name=close,fd=1
  }
}
vars
run $runtime
