import Glibc
import OperatorCommands

exit(OperatorProgram.run(Array(CommandLine.arguments.dropFirst())))
