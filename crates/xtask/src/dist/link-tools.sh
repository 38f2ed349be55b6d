    # A tool's name is taken only where no program has it: another package's, or one of the administrator's.
    for link in /usr/lib/iodyno/tools/*; do
        name=${link##*/}
        taken=
        for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
            if [ -e "$folder/$name" ] || [ -L "$folder/$name" ]; then
                [ "$(readlink "$folder/$name")" = "/etc/alternatives/$name" ] || taken=yes
            fi
        done
        if [ -z "$taken" ]; then
            update-alternatives --quiet --install "/usr/bin/$name" "$name" "$link" 10
        fi
    done
