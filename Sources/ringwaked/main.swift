import Glibc
import RingwakeDaemon

exit(runDaemon())
