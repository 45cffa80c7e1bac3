"""A multilayer perceptron learns spirals: dense layers, dropout, softmax, Adam or momentum, mini-batches, early stopping. In the
manner of A. Karpathy's CS231n notes and the "neural network from scratch in NumPy" tutorials that follow them, written afresh.

    python network.py [EPOCHS]
"""

import sys

import numpy as np


class Dense:
    def __init__(self, n_in, n_out, rng, l2=1e-5):
        self.W = rng.standard_normal((n_in, n_out)) * np.sqrt(2.0 / n_in)
        self.b = np.zeros(n_out)
        self.l2 = l2
        self.x = None
        self.dW = np.zeros_like(self.W)
        self.db = np.zeros_like(self.b)

    def forward(self, x, training=True):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        self.dW = self.x.T @ grad + self.l2 * self.W
        self.db = grad.sum(axis=0)
        return grad @ self.W.T

    def parameters(self):
        return [(self.W, self.dW), (self.b, self.db)]


class LeakyReLU:
    def __init__(self, slope=0.01):
        self.slope = slope
        self.mask = None

    def forward(self, x, training=True):
        self.mask = x > 0
        return np.where(self.mask, x, self.slope * x)

    def backward(self, grad):
        return np.where(self.mask, grad, self.slope * grad)

    def parameters(self):
        return []


class Tanh:
    def forward(self, x, training=True):
        self.out = np.tanh(x)
        return self.out

    def backward(self, grad):
        return grad * (1 - self.out**2)

    def parameters(self):
        return []


class Dropout:
    def __init__(self, rate, rng):
        self.rate = rate
        self.rng = rng
        self.mask = None

    def forward(self, x, training=True):
        if not training:
            return x
        self.mask = (self.rng.random(x.shape) >= self.rate) / (1.0 - self.rate)
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask

    def parameters(self):
        return []


class BatchNorm:
    def __init__(self, n, momentum=0.9, eps=1e-5):
        self.gamma = np.ones(n)
        self.beta = np.zeros(n)
        self.running_mean = np.zeros(n)
        self.running_var = np.ones(n)
        self.momentum = momentum
        self.eps = eps
        self.dgamma = np.zeros(n)
        self.dbeta = np.zeros(n)

    def forward(self, x, training=True):
        if training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mean
            self.running_var = self.momentum * self.running_var + (1 - self.momentum) * var
        else:
            mean, var = self.running_mean, self.running_var
        self.std = np.sqrt(var + self.eps)
        self.xhat = (x - mean) / self.std
        return self.gamma * self.xhat + self.beta

    def backward(self, grad):
        self.dgamma = (grad * self.xhat).sum(axis=0)
        self.dbeta = grad.sum(axis=0)
        g = grad * self.gamma
        return (g - g.mean(axis=0) - self.xhat * (g * self.xhat).mean(axis=0)) / self.std

    def parameters(self):
        return [(self.gamma, self.dgamma), (self.beta, self.dbeta)]


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def cross_entropy(probabilities, y):
    return -np.mean(np.log(probabilities[np.arange(len(y)), y] + 1e-12))


class Momentum:
    def __init__(self, lr=0.05, beta=0.9):
        self.lr, self.beta = lr, beta
        self.velocity = {}

    def update(self, parameters):
        for k, (p, g) in enumerate(parameters):
            v = self.velocity.get(k)
            if v is None:
                v = np.zeros_like(p)
            v = self.beta * v - self.lr * g
            self.velocity[k] = v
            p += v


class Adam:
    def __init__(self, lr=2e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.beta1, self.beta2, self.eps = lr, beta1, beta2, eps
        self.m, self.v = {}, {}
        self.t = 0

    def update(self, parameters):
        self.t += 1
        for k, (p, g) in enumerate(parameters):
            if k not in self.m:
                self.m[k] = np.zeros_like(p)
                self.v[k] = np.zeros_like(p)
            self.m[k] = self.beta1 * self.m[k] + (1 - self.beta1) * g
            self.v[k] = self.beta2 * self.v[k] + (1 - self.beta2) * g**2
            mhat = self.m[k] / (1 - self.beta1**self.t)
            vhat = self.v[k] / (1 - self.beta2**self.t)
            p -= self.lr * mhat / (np.sqrt(vhat) + self.eps)


class Network:
    def __init__(self, layers):
        self.layers = layers

    def forward(self, x, training=True):
        for layer in self.layers:
            x = layer.forward(x, training)
        return x

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)

    def parameters(self):
        return [pair for layer in self.layers for pair in layer.parameters()]

    def predict(self, x):
        return np.argmax(self.forward(x, training=False), axis=1)

    def train_batch(self, x, y, optimizer):
        probabilities = softmax(self.forward(x))
        loss = cross_entropy(probabilities, y)
        grad = probabilities.copy()
        grad[np.arange(len(y)), y] -= 1
        self.backward(grad / len(y))
        optimizer.update(self.parameters())
        return loss, np.mean(probabilities.argmax(axis=1) == y)


def make_spirals(points, classes, rng, noise=0.3):
    X = np.zeros((points * classes, 2))
    y = np.zeros(points * classes, dtype=int)
    for k in range(classes):
        rows = range(points * k, points * (k + 1))
        r = np.linspace(0.05, 1, points)
        theta = 2 * np.pi * k / classes + np.linspace(0, 4.2, points) + rng.normal(0, noise, points)
        X[rows] = np.c_[r * np.sin(theta), r * np.cos(theta)]
        y[rows] = k
    return X, y


def features(X):
    """Radius, products and a few waves beside the coordinates."""
    x0, x1 = X[:, 0], X[:, 1]
    columns = [x0, x1, np.hypot(x0, x1), x0 * x1, x0**2 - x1**2]
    for k in (2, 4):
        columns += [np.sin(k * x0), np.cos(k * x1)]
    return np.column_stack(columns)


def confusion(y, predicted, classes):
    table = np.zeros((classes, classes), dtype=int)
    np.add.at(table, (y, predicted), 1)
    return table


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    rng = np.random.default_rng(1337)
    classes = 4
    X, y = make_spirals(2500, classes, rng)
    X = features(X)
    order = rng.permutation(len(X))
    X, y = X[order], y[order]
    split = int(0.8 * len(X))
    mean, std = X[:split].mean(axis=0), X[:split].std(axis=0)
    X = (X - mean) / std
    X_train, y_train, X_test, y_test = X[:split], y[:split], X[split:], y[split:]
    print(f"{len(X_train)} points to train with, {len(X_test)} to test with, {X.shape[1]} features")

    results = {}
    for name, optimizer in [("adam", Adam(lr=3e-3)), ("momentum", Momentum(lr=0.05))]:
        net_rng = np.random.default_rng(99)
        net = Network([
            Dense(X.shape[1], 64, net_rng), BatchNorm(64), LeakyReLU(), Dropout(0.1, net_rng),
            Dense(64, 48, net_rng), Tanh(), Dense(48, classes, net_rng),
        ])  # fmt: skip
        history = {"loss": [], "train": [], "test": []}
        best, patience = 0.0, 0
        batch_size = 100
        for epoch in range(1, epochs + 1):
            shuffled = net_rng.permutation(len(X_train))
            losses, hits = [], []
            for start in range(0, len(X_train), batch_size):
                batch = shuffled[start : start + batch_size]
                loss, hit = net.train_batch(X_train[batch], y_train[batch], optimizer)
                losses.append(loss)
                hits.append(hit)
            accuracy = float(np.mean(net.predict(X_test) == y_test))
            history["loss"].append(float(np.mean(losses)))
            history["train"].append(float(np.mean(hits)))
            history["test"].append(accuracy)
            if accuracy > best + 1e-4:
                best, patience = accuracy, 0
            else:
                patience += 1
            if epoch % max(1, epochs // 6) == 0:
                print(f"{name:9s} epoch {epoch:3d}  loss {history['loss'][-1]:.4f}  test accuracy {accuracy:.3f}")
            if epoch % 20 == 0:
                optimizer.lr *= 0.5
            if patience > 25:
                print(f"{name}: no progress for 25 epochs, stopping at {epoch}")
                break
        results[name] = {"best": best, "final": history["loss"][-1], "net": net}

    for name, result in results.items():
        table = confusion(y_test, result["net"].predict(X_test), classes)
        recall = np.diag(table) / table.sum(axis=1)
        norm = np.sqrt(sum((p**2).sum() for p, _ in result["net"].parameters()))
        print(
            f"{name:9s} best {result['best']:.3f}  loss {result['final']:.4f}  |w| {norm:.3f}  recall {recall.round(2)}"
        )


if __name__ == "__main__":
    main()
