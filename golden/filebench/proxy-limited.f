# A proxy: one goes, one comes, five are read; so many operations a second.
set $dir=/tmp
set $nfiles=300
set $meandirwidth=1000000
set $meanfilesize=16k
set $nthreads=20
set $meaniosize=16k
set $iosize=1m
set $runtime=1
enable lathist
set mode quit timeout
define fileset name=bigfileset,path=$dir,size=$meanfilesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80
eventgen rate=20000
define process name=proxycache,instances=1 {
  thread name=proxycache,memsize=1m,instances=$nthreads {
    flowop deletefile name=deletefile1,filesetname=bigfileset
    flowop createfile name=createfile1,filesetname=bigfileset,fd=1
    flowop appendfilerand name=appendfilerand1,iosize=$meaniosize,fd=1
    flowop closefile name=closefile1,fd=1
    flowop openfile name=openfile2,filesetname=bigfileset,fd=1
    flowop readwholefile name=readfile2,fd=1,iosize=$iosize
    flowop closefile name=closefile2,fd=1
    flowop openfile name=openfile3,filesetname=bigfileset,fd=1
    flowop readwholefile name=readfile3,fd=1,iosize=$iosize
    flowop closefile name=closefile3,fd=1
    flowop opslimit name=limit
  }
}
echo "Web proxy-server personality successfully loaded"
run $runtime
