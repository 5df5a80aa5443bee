import ArgumentParser
import RingwakeCore

/// `ringwake app`
struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "app", "Add, show and remove the apps that pushes can wake.",
        examples: """
            ringwake app add com.example.phone --exec /usr/bin/phone-handler
            ringwake app list
            ringwake app show com.example.phone --json
            ringwake app show com.example.phone --pn
            ringwake app clear-strikes com.example.phone
            ringwake app renew-tokens com.example.phone
            ringwake app restrictions com.example.phone
            ringwake app reset com.example.phone
            ringwake app fault com.example.phone BadDeviceToken --count 1
            ringwake app remove com.example.phone
            """,
        subcommands: [
            AppAddCommand.self, AppListCommand.self, AppShowCommand.self, AppClearStrikesCommand.self,
            AppRenewTokensCommand.self, AppResetCommand.self, AppFaultCommand.self, AppStateCommand.self,
            AppRestrictionsCommand.self, AppConnectCommand.self, AppRemoveCommand.self,
        ])
}

extension AppID: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
