# Directories are made, listed and removed.
set $dir=/tmp
set $ndirs=300
set $runtime=1
define fileset name=bigfileset,path=$dir,size=4k,entries=60,dirwidth=10,leafdirs=$ndirs,dirgamma=1500,prealloc=50
define process name=dirs,instances=1 {
  thread name=dirmake,memsize=1m,instances=3 {
    flowop makedir name=mkdir1,filesetname=bigfileset
    flowop removedir name=rmdir1,filesetname=bigfileset
  }
  thread name=dirlist,memsize=1m,instances=2 {
    flowop listdir name=listdir1,filesetname=bigfileset
    flowop statdir name=statdir1,filesetname=bigfileset
  }
}
run $runtime
