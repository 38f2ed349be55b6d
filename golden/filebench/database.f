# A database: readers that go from file to file, writers that hand over and wait for some, a log; semaphores between.
set $dir=/tmp
set $eventrate=0
set $iosize=2k
set $nshadows=6
set $ndbwriters=2
set $runtime=1
set $usermode=20000
set $filesize=256k
set $memperthread=1m
set $workingset=0
set $nfiles=5
set $nlogfiles=1
eventgen rate=$eventrate

define fileset name=datafiles,path=$dir,size=$filesize,entries=$nfiles,dirwidth=1024,prealloc=100,reuse=false
define fileset name=logfile,path=$dir,size=1m,entries=$nlogfiles,dirwidth=1024,prealloc=100

define process name=lgwr,instances=1 {
  thread name=lgwr,memsize=$memperthread,useism {
    flowop aiowrite name=lg-write,filesetname=logfile,iosize=256k,random,dsync
    flowop aiowait name=lg-aiowait
    flowop semblock name=lg-block,value=32,highwater=10
  }
}
define process name=dbwr,instances=$ndbwriters {
  thread name=dbwr,memsize=$memperthread,useism {
    flowop aiowrite name=dbwrite-a,filesetname=datafiles,iosize=$iosize,workingset=$workingset,random,iters=10,opennext,dsync
    flowop hog name=dbwr-hog,value=10000
    flowop semblock name=dbwr-block,value=10,highwater=100
    flowop aiowait name=dbwr-aiowait
  }
}
define process name=shadow,instances=$nshadows {
  thread name=shadow,memsize=$memperthread,useism {
    flowop read name=shadowread,filesetname=datafiles,iosize=$iosize,workingset=$workingset,random,opennext
    flowop hog name=shadowhog,value=$usermode
    flowop sempost name=shadow-post-lg,value=1,target=lg-block,blocking
    flowop sempost name=shadow-post-dbwr,value=1,target=dbwr-block,blocking
    flowop eventlimit name=random-rate
  }
}
echo "OLTP personality successfully loaded"
run $runtime
