# All directories are removed, then it is over.
set $dir=/tmp
set $runtime=5
set mode quit firstdone
define fileset name=bigfileset,path=$dir,size=0,leafdirs=100,dirwidth=100,prealloc
define process name=remdir,instances=1 {
  thread name=removedirectory,memsize=1m,instances=1 { flowop removedir name=dirremover,filesetname=bigfileset }
}
run $runtime
