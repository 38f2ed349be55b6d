# Opening, with the next file each time.
set $dir=/tmp
set $runtime=1
define fileset name=bigfileset,path=$dir,size=1k,entries=300,dirwidth=20,prealloc
define process name=fileopen,instances=2 {
  thread name=fileopener,memsize=1m,instances=4 {
    flowop openfile name=open1,filesetname=bigfileset,fd=1
    flowop closefile name=close1,fd=1
    flowop read name=next,filesetname=bigfileset,iosize=1k,opennext
  }
}
run $runtime
