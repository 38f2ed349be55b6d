# Nothing but looking.
set $dir=/tmp
set $runtime=1
define fileset name=bigfileset,path=$dir,size=0,filesize=1k,entries=500,dirwidth=20,dirgamma=0,prealloc
define process name=examinefiles,instances=1 {
  thread name=examinefilesthread,memsize=10m,instances=5 {
    flowop statfile name=statfile1,filesetname=bigfileset
  }
}
echo "Stat File Microbenchmark"
run $runtime
