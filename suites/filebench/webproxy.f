# webproxy: a page cache. Each thread deletes one page, stores a new one, and reads five; -D eventrate=N limits the rate.
set $dir=/tmp
set $nfiles=10000
set $nthreads=100
set $meandirwidth=1000000
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $iosize=1m
set $meanappendsize=16k
set $eventrate=0
set $runtime=60

eventgen rate=$eventrate
define fileset name=cache,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80

define process name=proxy,instances=1 {
  thread name=worker,memsize=10m,instances=$nthreads {
    flowop deletefile name=deletefile1,filesetname=cache
    flowop createfile name=createfile1,filesetname=cache,fd=1
    flowop appendfilerand name=appendfilerand1,iosize=$meanappendsize,fd=1
    flowop closefile name=closefile1,fd=1
    flowop openfile name=openfile2,filesetname=cache,fd=1
    flowop readwholefile name=readfile2,fd=1,iosize=$iosize
    flowop closefile name=closefile2,fd=1
    flowop openfile name=openfile3,filesetname=cache,fd=1
    flowop readwholefile name=readfile3,fd=1,iosize=$iosize
    flowop closefile name=closefile3,fd=1
    flowop openfile name=openfile4,filesetname=cache,fd=1
    flowop readwholefile name=readfile4,fd=1,iosize=$iosize
    flowop closefile name=closefile4,fd=1
    flowop openfile name=openfile5,filesetname=cache,fd=1
    flowop readwholefile name=readfile5,fd=1,iosize=$iosize
    flowop closefile name=closefile5,fd=1
    flowop openfile name=openfile6,filesetname=cache,fd=1
    flowop readwholefile name=readfile6,fd=1,iosize=$iosize
    flowop closefile name=closefile6,fd=1
    flowop opslimit name=limit
  }
}

echo "Web proxy personality loaded"
run $runtime
