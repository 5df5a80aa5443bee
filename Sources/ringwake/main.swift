import Glibc
import RingwakeCommands

exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst())))
