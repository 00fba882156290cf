# SPDX-License-Identifier: BSD-3-Clause
# Holdfast's runs as tests of CTest:
#
#     find_package(Holdfast REQUIRED)
#     holdfast_test(NAME crash-insert VERB test RECOVER "'$<TARGET_FILE:app>' check pool" COMMAND app run pool)
#
# COMMAND is the program and its arguments; a target's name stands for its file. RECOVER, PROBE and CONTINUE are the
# options of that name, OPTIONS has others. VERB is test where there is one of these, else check. Each test runs in a
# folder of its own, which is emptied first.
find_program(HOLDFAST_PROGRAM holdfast)

function(holdfast_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;VERB;RECOVER;PROBE;CONTINUE" "COMMAND;OPTIONS")
  if(NOT arg_NAME OR NOT arg_COMMAND)
    message(FATAL_ERROR "holdfast_test needs NAME and COMMAND")
  endif()
  if(NOT HOLDFAST_PROGRAM)
    message(FATAL_ERROR "holdfast is not installed; -DHOLDFAST_PROGRAM= says where it is")
  endif()
  set(options ${arg_OPTIONS})
  set(verb check)
  foreach(name RECOVER PROBE CONTINUE)
    if(arg_${name})
      string(TOLOWER ${name} option)
      list(APPEND options --${option} "${arg_${name}}")
      set(verb test)
    endif()
  endforeach()
  if(arg_VERB)
    set(verb ${arg_VERB})
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program "$<TARGET_FILE:${program}>")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/holdfast/${arg_NAME}")
  add_test(
    NAME ${arg_NAME}
    COMMAND sh -c [[rm -rf "$1" && mkdir -p "$1" && cd "$1" && shift && exec "$@"]] holdfast "${folder}"
            ${HOLDFAST_PROGRAM} ${verb} --incomplete error ${options} -- ${program} ${arg_COMMAND})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS holdfast)
endfunction()
