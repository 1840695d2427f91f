import OperatorCommands

OperatorProgram.main()
