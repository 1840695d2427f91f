import OwnerCommands

OwnerProgram.main()
