/// A binary min-heap.
struct BinaryHeap<Element: Comparable> {
    private var elements: [Element] = []

    var count: Int { elements.count }

    /// The smallest element.
    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        siftUp(from: elements.count - 1)
    }

    @discardableResult
    mutating func removeFirst() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        if !elements.isEmpty {
            elements[0] = last
            siftDown(from: 0)
        }
        return first
    }

    /// Removes every element that `isKept` rejects, in linear time.
    mutating func compact(keeping isKept: (Element) -> Bool) {
        elements.removeAll { !isKept($0) }
        for index in stride(from: elements.count / 2 - 1, through: 0, by: -1) {
            siftDown(from: index)
        }
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var smallest = 2 * parent + 1
            guard smallest < elements.count else { return }
            let right = smallest + 1
            if right < elements.count, elements[right] < elements[smallest] { smallest = right }
            guard elements[smallest] < elements[parent] else { return }
            elements.swapAt(smallest, parent)
            parent = smallest
        }
    }
}
