"""Random dependency trees."""


def random_heads(words, generator):
    """The head of each word, -1 for the root."""
    order = generator.permutation(words)
    heads = [-1] * words
    for place in range(1, words):
        heads[order[place]] = int(order[generator.integers(place)])
    return heads
