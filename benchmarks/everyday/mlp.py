"""A network of two layers learns digits in minibatches, with dropout. After numpy-tutorials' deep learning on MNIST (BSD-3), written afresh."""

import numpy as np


def relu(x):
    return (x >= 0) * x


def relu2deriv(output):
    return output >= 0


def one_hot_encoding(labels, dimension=10):
    return (labels[..., None] == np.arange(dimension)[None]).astype(np.float64)


def train(images, labels, epochs=2, batch=50, hidden=64, learning_rate=0.05, seed=884736743):
    rng = np.random.default_rng(seed)
    targets = one_hot_encoding(labels)
    weights_1 = 0.2 * rng.random((images.shape[1], hidden)) - 0.1
    weights_2 = 0.2 * rng.random((hidden, 10)) - 0.1
    store_loss, store_accuracy = [], []
    for _ in range(epochs):
        loss = 0.0
        correct = 0
        order = rng.permutation(len(images))
        for start in range(0, len(images), batch):
            rows = order[start : start + batch]
            layer_0 = images[rows]
            layer_1 = relu(np.dot(layer_0, weights_1))
            dropout_mask = rng.integers(low=0, high=2, size=layer_1.shape)
            layer_1 *= dropout_mask * 2
            layer_2 = np.dot(layer_1, weights_2)
            loss += np.sum((targets[rows] - layer_2) ** 2)
            correct += int((np.argmax(layer_2, axis=1) == labels[rows]).sum())
            layer_2_delta = (targets[rows] - layer_2) / len(rows)
            layer_1_delta = np.dot(layer_2_delta, weights_2.T) * relu2deriv(layer_1)
            layer_1_delta *= dropout_mask
            weights_2 += learning_rate * np.dot(layer_1.T, layer_2_delta)
            weights_1 += learning_rate * np.dot(layer_0.T, layer_1_delta)
        store_loss.append(loss / len(images))
        store_accuracy.append(correct / len(images))
    return weights_1, weights_2, store_loss, store_accuracy


def make_data(small=False):
    n, d = (60, 16) if small else (3000, 196)
    rng = np.random.default_rng(26)
    prototypes = rng.random((10, d)) > 0.7
    labels = rng.integers(0, 10, n)
    return (prototypes[labels] + 0.3 * rng.random((n, d))) / 1.3, labels


if __name__ == "__main__":
    print(train(*make_data())[3])
