import Glibc
import RingwakeAudioAgent

exit(AudioAgent.main())
