# smallfiles-mail: mail in folders, one file for each message. Threads deliver and sync, read, stat many, delete.
set $dir=/tmp
set $nfiles=20000
set $nthreads=16
set $meandirwidth=500
set $filesize=cvar(type=cvar-gamma,parameters=mean:12288;gamma:0.9)
set $iosize=64k
set $runtime=60

define fileset name=maildir,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80

define process name=imapd,instances=1 {
  thread name=session,instances=$nthreads {
    flowop createfile name=deliver,filesetname=maildir,fd=1
    flowop writewholefile name=write,fd=1,iosize=$iosize
    flowop fsync name=sync,fd=1
    flowop closefile name=close,fd=1
    flowop statfile name=scan,filesetname=maildir,iters=10
    flowop openfile name=open,filesetname=maildir,fd=1
    flowop readwholefile name=read,fd=1,iosize=$iosize
    flowop closefile name=closeread,fd=1
    flowop deletefile name=expunge,filesetname=maildir
  }
}

echo "Maildir personality loaded"
run $runtime
