# fileserver: home directories on a file server. Each thread creates a file, appends to another, reads a third, deletes one.
set $dir=/tmp
set $nfiles=10000
set $nthreads=50
set $meandirwidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=homes,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80

define process name=fileserver,instances=1 {
  thread name=user,memsize=10m,instances=$nthreads {
    flowop createfile name=createfile1,filesetname=homes,fd=1
    flowop writewholefile name=writefile1,fd=1,iosize=$iosize
    flowop closefile name=closefile1,fd=1
    flowop openfile name=openfile1,filesetname=homes,fd=1
    flowop appendfilerand name=appendfile1,iosize=$meanappendsize,fd=1
    flowop closefile name=closefile2,fd=1
    flowop openfile name=openfile2,filesetname=homes,fd=1
    flowop readwholefile name=readfile1,fd=1,iosize=$iosize
    flowop closefile name=closefile3,fd=1
    flowop deletefile name=deletefile1,filesetname=homes
    flowop statfile name=statfile1,filesetname=homes
  }
}

echo "File server personality loaded"
run $runtime
