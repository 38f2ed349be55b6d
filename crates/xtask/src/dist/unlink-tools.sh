    for link in /usr/lib/iodyno/tools/*; do
        if update-alternatives --quiet --query "${link##*/}" >/dev/null 2>&1 || update-alternatives --display "${link##*/}" >/dev/null 2>&1; then
            update-alternatives --quiet --remove "${link##*/}" "$link"
        fi
    done
