# oltp: a database. Readers read random 2k blocks and use CPU time, writers wait for enough dirty blocks, one thread writes the log.
set $dir=/tmp
set $filesize=10m
set $logfilesize=10m
set $nfiles=10
set $nshadows=200
set $ndbwriters=10
set $iosize=2k
set $usermode=200000
set $directio=false
set $runtime=60

define fileset name=datafiles,path=$dir,size=$filesize,entries=$nfiles,dirwidth=1024,prealloc=100,reuse=false
define file name=redolog,path=$dir,size=$logfilesize,prealloc=100

define process name=lgwr,instances=1 {
  thread name=lgwr {
    flowop write name=lg-write,filename=redolog,iosize=256k,workingset=1m,random,dsync
    flowop semblock name=lg-block,value=3200,highwater=1000
  }
}
define process name=dbwr,instances=1 {
  thread name=dbwr,instances=$ndbwriters {
    flowop write name=dbwrite-a,filesetname=datafiles,iosize=$iosize,workingset=$filesize,random,iters=100,fd=1,directio=$directio
    flowop hog name=dbwr-hog,value=10000
    flowop semblock name=dbwr-block,value=100,highwater=10000
  }
}
define process name=shadow,instances=1 {
  thread name=shadow,instances=$nshadows {
    flowop read name=shadowread,filesetname=datafiles,iosize=$iosize,workingset=$filesize,random,fd=1,directio=$directio
    flowop hog name=shadowhog,value=$usermode
    flowop sempost name=shadow-post-lg,value=1,target=lg-block,blocking
    flowop sempost name=shadow-post-dbwr,value=1,target=dbwr-block,blocking
  }
}

echo "OLTP personality loaded"
run $runtime
