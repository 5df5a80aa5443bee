/// The program that holds the connection to a user's audio server.
package enum AudioAgent {
    package static func main() {}
}
