# videoserver: videos that are read in large blocks at a fixed rate, and an archive in which one is replaced from time to time.
set $dir=/tmp
set $eventrate=96
set $filesize=1g
set $nthreads=48
set $numactivevids=32
set $numpassivevids=194
set $readiosize=256k
set $writeiosize=1m
set $repintval=10
set $runtime=60

eventgen rate=$eventrate
define fileset name=active,path=$dir,size=$filesize,entries=$numactivevids,dirwidth=4,prealloc
define fileset name=passive,path=$dir,size=$filesize,entries=$numpassivevids,dirwidth=20,prealloc=50

define process name=replacer,instances=1 {
  thread name=writer,memsize=10m {
    flowop deletefile name=vidremover,filesetname=passive
    flowop createfile name=wrtopen,filesetname=passive,fd=1
    flowop writewholefile name=newvid,fd=1,iosize=$writeiosize
    flowop closefile name=wrtclose,fd=1
    flowop delay name=replaceinterval,value=$repintval
  }
}
define process name=servers,instances=1 {
  thread name=reader,memsize=10m,instances=$nthreads {
    flowop read name=vidreader,filesetname=active,iosize=$readiosize
    flowop bwlimit name=serverlimit,target=vidreader
  }
}

echo "Video server personality loaded"
run $runtime
