/// Volumes as PulseAudio's protocol has them: 65536 is full, and the number is the cube root of the gain of the
/// amplitude, so that a slider is even to the ear (`pa_sw_volume_to_linear`).
package enum DuckingGain {
    /// Of the amplitude: -14 dB.
    package static let amplitude = 0.2

    /// What a stream has that is ducked: its amplitude times ``amplitude``, each channel for itself, so that the balance
    /// stays. A gain on the amplitude is its cube root on these numbers.
    package static func ducked(_ volume: [UInt32]) -> [UInt32] {
        volume.map { UInt32((Double($0) * cubeRootOfAmplitude).rounded()) }
    }

    private static let cubeRootOfAmplitude = 0.584_803_547_642_573_2
}
