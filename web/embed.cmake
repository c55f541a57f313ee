# Writes OUT, a C file with the table web_files: cmake -D SOURCE=web -D OUT=files.c -D FILES=a.js,src/b.js -P embed.cmake
# The files' bytes become arrays, since a string literal may not be longer than 4095 characters in C11.
cmake_minimum_required(VERSION 3.25)

function(content_type path out)
    if(path MATCHES "\\.js$")
        set(type "text/javascript; charset=utf-8")
    elseif(path MATCHES "\\.css$")
        set(type "text/css; charset=utf-8")
    elseif(path MATCHES "\\.html$")
        set(type "text/html; charset=utf-8")
    elseif(path MATCHES "\\.svg$")
        set(type "image/svg+xml")
    else()
        message(FATAL_ERROR "embed.cmake: no content type is known for ${path}")
    endif()
    set(${out} "${type}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(rows "")
set(index 0)
string(REPLACE "," ";" FILES "${FILES}")
foreach(path IN LISTS FILES)
    file(READ "${SOURCE}/${path}" bytes HEX)
    file(SHA256 "${SOURCE}/${path}" hash)
    string(SUBSTRING "${hash}" 0 20 hash)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    content_type("${path}" type)
    string(APPEND arrays "static const unsigned char file_${index}[] = {${bytes}};\n")
    string(APPEND rows "    {\"/${path}\", \"${type}\", file_${index}, sizeof(file_${index}), \"\\\"${hash}\\\"\"},\n")
    math(EXPR index "${index} + 1")
endforeach()

file(WRITE "${OUT}"
    "/* Written by web/embed.cmake. */\n#include \"web/files.h\"\n\n${arrays}\n"
    "const struct web_asset web_files[] = {\n${rows}};\n"
    "const size_t web_files_count = sizeof(web_files) / sizeof(web_files[0]);\n")
