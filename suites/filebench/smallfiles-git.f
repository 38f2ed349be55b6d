# smallfiles-git: objects of a version control system. Threads stat many, read some, create and sync a few.
set $dir=/tmp
set $nfiles=50000
set $nthreads=4
set $meandirwidth=256
set $filesize=cvar(type=cvar-lognormal,parameters=mean:7.2;sigma:1.2)
set $iosize=64k
set $runtime=60

define fileset name=objects,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80

define process name=git,instances=1 {
  thread name=command,instances=$nthreads {
    flowop statfile name=look,filesetname=objects,iters=20
    flowop openfile name=open,filesetname=objects,fd=1
    flowop readwholefile name=read,fd=1,iosize=$iosize
    flowop closefile name=close,fd=1
    flowop createfile name=create,filesetname=objects,fd=2
    flowop writewholefile name=write,fd=2,iosize=$iosize
    flowop fsync name=sync,fd=2
    flowop closefile name=closenew,fd=2
    flowop deletefile name=prune,filesetname=objects
  }
}

echo "Version control personality loaded"
run $runtime
