//! What `-t` and `-tf` run: a few seconds on a file, and on a tree of files, below `/tmp`.

pub const STORAGE: &str = "sd=sd1,lun=/tmp/quick_vdbench_test,size=40m\n\
wd=wd1,sd=sd1,xfersize=1k,rdpct=50\n\
rd=rd1,wd=wd1,iorate=100,elapsed=5,interval=1,threads=2\n";

pub const FILES: &str = "create_anchors=yes\n\
fsd=fsd1,anchor=/tmp/quick_vdbench_tree,depth=1,width=1,files=100,size=64k\n\
fwd=fwd1,fsd=fsd1,xfersize=4k,fileselect=random,rdpct=80,threads=2\n\
rd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=5,interval=1\n";
