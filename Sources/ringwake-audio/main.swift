import RingwakeAudioAgent

AudioAgent.main()
