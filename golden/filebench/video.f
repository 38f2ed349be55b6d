# Videos are read at a rate of their own, and one after the other is replaced now and then.
set $dir=/tmp
set $eventrate=96
set $filesize=512k
set $nthreads=4
set $numactivevids=4
set $numpassivevids=6
set $reuseit=false
set $readiosize=256k
set $writeiosize=128k
set $passvidsname=passivevids
set $actvidsname=activevids
set $repintval=1
set $runtime=1
eventgen rate=$eventrate
define fileset name=$actvidsname,path=$dir,size=$filesize,entries=$numactivevids,dirwidth=4,prealloc,paralloc,reuse=$reuseit
define fileset name=$passvidsname,path=$dir,size=$filesize,entries=$numpassivevids,dirwidth=20,prealloc=50,paralloc,reuse=$reuseit
define process name=vidwriter,instances=1 {
  thread name=vidwriter,memsize=10m,instances=1 {
    flowop deletefile name=vidremover,filesetname=$passvidsname
    flowop createfile name=wrtopen,filesetname=$passvidsname,fd=1
    flowop writewholefile name=newvid,iosize=$writeiosize,fd=1,srcfd=1
    flowop closefile name=wrtclose,fd=1
    flowop delay name=replaceinterval,value=$repintval
  }
}
define process name=vidreaders,instances=1 {
  thread name=vidreaders,memsize=10m,instances=$nthreads {
    flowop read name=vidreader,filesetname=$actvidsname,iosize=$readiosize
    flowop bwlimit name=serverlimit,target=vidreader
  }
}
run $runtime
