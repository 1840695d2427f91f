import OwnerCommands

await OwnerProgram.main()
