import RelayServer

RelayProgram.main()
