import Glibc
import RelayServer

exit(RelayProgram.run(Array(CommandLine.arguments.dropFirst())))
