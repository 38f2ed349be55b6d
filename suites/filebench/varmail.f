# varmail: a mail spool, one file for each message. Delete one; deliver and sync one; read one, append to it, sync; read one.
set $dir=/tmp
set $nfiles=1000
set $nthreads=16
set $meandirwidth=1000000
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=spool,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80

define process name=mailserver,instances=1 {
  thread name=session,memsize=10m,instances=$nthreads {
    flowop deletefile name=deletefile1,filesetname=spool
    flowop createfile name=createfile2,filesetname=spool,fd=1
    flowop appendfilerand name=appendfilerand2,iosize=$meanappendsize,fd=1
    flowop fsync name=fsyncfile2,fd=1
    flowop closefile name=closefile2,fd=1
    flowop openfile name=openfile3,filesetname=spool,fd=1
    flowop readwholefile name=readfile3,fd=1,iosize=$iosize
    flowop appendfilerand name=appendfilerand3,iosize=$meanappendsize,fd=1
    flowop fsync name=fsyncfile3,fd=1
    flowop closefile name=closefile3,fd=1
    flowop openfile name=openfile4,filesetname=spool,fd=1
    flowop readwholefile name=readfile4,fd=1,iosize=$iosize
    flowop closefile name=closefile4,fd=1
  }
}

echo "Mail server personality loaded"
run $runtime
