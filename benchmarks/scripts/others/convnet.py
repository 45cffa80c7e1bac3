#!/usr/bin/env python
"""
Small convolutional network written by hand, trained on synthetic "digit-like"
shape images (crosses, squares, discs, stripes).  Layers are classes with
forward/backward; the optimiser is Adam or SGD with momentum.
"""
import argparse
from dataclasses import dataclass, field

import numpy as np

CLASS_NAMES = ["cross", "square", "disc", "stripes"]

def draw_shape(kind, size, rng):
    img = np.zeros((size, size))
    cy, cx = rng.integers(5, size - 5, size=2)
    r = rng.integers(3, 6)
    yy, xx = np.mgrid[0:size, 0:size]
    if kind == 0:
        img[cy, max(cx - r, 0):cx + r + 1] = 1.0
        img[max(cy - r, 0):cy + r + 1, cx] = 1.0
    elif kind == 1:
        img[np.maximum(np.abs(yy - cy), np.abs(xx - cx)) == r] = 1.0
    elif kind == 2:
        img[(yy - cy) ** 2 + (xx - cx) ** 2 <= r ** 2] = 1.0
    else:
        period = rng.integers(3, 6)
        img[(yy + xx) % period == 0] = 0.8
    img *= rng.uniform(0.6, 1.2)
    img += rng.normal(0, 0.15, img.shape)
    return img

def make_dataset(n, size, seed):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 1, size, size))
    y = np.empty(n, dtype=int)
    for i in range(n):
        y[i] = rng.integers(0, len(CLASS_NAMES))
        X[i, 0] = draw_shape(y[i], size, rng)
    X -= X.mean()
    X /= X.std()
    return X, y

class Layer:
    has_weights = False

    def params(self):
        return [self.W, self.b] if self.has_weights else []

    def grads(self):
        return [self.dW, self.db] if self.has_weights else []

class Conv2D(Layer):
    """Valid convolution, stride 1, via sum over kernel offsets."""
    has_weights = True

    def __init__(self, n_in, n_out, k, rng):
        self.k = k
        scale = np.sqrt(2.0 / (n_in * k * k))
        self.W = rng.normal(0, scale, (n_out, n_in, k, k))
        self.b = np.zeros(n_out)
        self.dW = np.zeros_like(self.W)
        self.db = np.zeros_like(self.b)

    def forward(self, x, train=True):
        self.x = x
        n, c, h, w = x.shape
        ho, wo = h - self.k + 1, w - self.k + 1
        out = np.zeros((n, self.W.shape[0], ho, wo))
        for i in range(self.k):
            for j in range(self.k):
                patch = x[:, :, i:i + ho, j:j + wo]
                out += np.tensordot(patch, self.W[:, :, i, j], axes=([1], [1])).transpose(0, 3, 1, 2)
        return out + self.b[None, :, None, None]

    def backward(self, dout):
        n, f, ho, wo = dout.shape
        dx = np.zeros_like(self.x)
        self.db = dout.sum(axis=(0, 2, 3))
        for i in range(self.k):
            for j in range(self.k):
                patch = self.x[:, :, i:i + ho, j:j + wo]
                self.dW[:, :, i, j] = np.tensordot(dout, patch, axes=([0, 2, 3], [0, 2, 3]))
                dx[:, :, i:i + ho, j:j + wo] += np.tensordot(
                    dout, self.W[:, :, i, j], axes=([1], [0])).transpose(0, 3, 1, 2)
        return dx

class LeakyReLU(Layer):
    def __init__(self, alpha=0.01):
        self.alpha = alpha

    def forward(self, x, train=True):
        self.mask = x > 0
        return np.where(self.mask, x, self.alpha * x)

    def backward(self, dout):
        return dout * np.where(self.mask, 1.0, self.alpha)

class MaxPool2(Layer):
    def forward(self, x, train=True):
        n, c, h, w = x.shape
        self.shape = x.shape
        x = x[:, :, :h // 2 * 2, :w // 2 * 2]
        r = x.reshape(n, c, h // 2, 2, w // 2, 2)
        out = r.max(axis=(3, 5))
        self.mask = (r == out[:, :, :, None, :, None])
        return out

    def backward(self, dout):
        n, c, h, w = self.shape
        d = self.mask * dout[:, :, :, None, :, None]
        dx = np.zeros(self.shape)
        dx[:, :, :h // 2 * 2, :w // 2 * 2] = d.reshape(n, c, h // 2 * 2, w // 2 * 2)
        return dx

class Dense(Layer):
    has_weights = True

    def __init__(self, n_in, n_out, rng):
        self.W = rng.normal(0, np.sqrt(2.0 / n_in), (n_in, n_out))
        self.b = np.zeros(n_out)

    def forward(self, x, train=True):
        self.in_shape = x.shape
        self.x = x.reshape(len(x), -1)
        return self.x @ self.W + self.b

    def backward(self, dout):
        self.dW = self.x.T @ dout
        self.db = dout.sum(axis=0)
        return (dout @ self.W.T).reshape(self.in_shape)

def softmax_cross_entropy(logits, y):
    z = logits - logits.max(axis=1, keepdims=True)
    e = np.exp(z)
    p = e / e.sum(axis=1, keepdims=True)
    n = len(y)
    loss = -np.mean(np.log(p[np.arange(n), y] + 1e-12))
    d = p.copy()
    d[np.arange(n), y] -= 1.0
    return loss, d / n

class SGD:
    def __init__(self, layers, lr=0.05, momentum=0.9, weight_decay=1e-4):
        self.layers, self.lr = layers, lr
        self.momentum, self.weight_decay = momentum, weight_decay
        self.v = {}

    def step(self):
        for li, layer in enumerate(self.layers):
            for pi, (p, g) in enumerate(zip(layer.params(), layer.grads())):
                v = self.v.get((li, pi), np.zeros_like(p))
                v = self.momentum * v - self.lr * (g + self.weight_decay * p)
                self.v[(li, pi)] = v
                p += v

class Adam:
    def __init__(self, layers, lr=2e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.layers, self.lr = layers, lr
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.t = 0
        self.m = [[np.zeros_like(p) for p in l.params()] for l in layers]
        self.v = [[np.zeros_like(p) for p in l.params()] for l in layers]

    def step(self):
        self.t += 1
        for layer, ms, vs in zip(self.layers, self.m, self.v):
            for p, g, m, v in zip(layer.params(), layer.grads(), ms, vs):
                m[...] = self.beta1 * m + (1 - self.beta1) * g
                v[...] = self.beta2 * v + (1 - self.beta2) * g ** 2
                mhat = m / (1 - self.beta1 ** self.t)
                vhat = v / (1 - self.beta2 ** self.t)
                p -= self.lr * mhat / (np.sqrt(vhat) + self.eps)

@dataclass
class History:
    loss: list = field(default_factory=list)
    accuracy: list = field(default_factory=list)

    def best_epoch(self):
        return int(np.argmax(self.accuracy))

class Network:
    def __init__(self, layers):
        self.layers = layers

    def forward(self, x, train=True):
        for layer in self.layers:
            x = layer.forward(x, train)
        return x

    def backward(self, d):
        for layer in reversed(self.layers):
            d = layer.backward(d)

    def predict(self, X, batch=100):
        out = []
        for s in range(0, len(X), batch):
            out.append(self.forward(X[s:s + batch], train=False).argmax(axis=1))
        return np.concatenate(out)

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
    args = ap.parse_args()
    X, y = make_dataset(1800, 20, seed=1)
    Xt, yt = make_dataset(400, 20, seed=2)
    rng = np.random.default_rng(0)
    layers = [Conv2D(1, 6, 3, rng), LeakyReLU(), MaxPool2(),
              Conv2D(6, 10, 3, rng), LeakyReLU(), MaxPool2(),
              Dense(10 * 3 * 3, 32, rng), LeakyReLU(), Dense(32, 4, rng)]
    net = Network(layers)
    n_par = sum(p.size for l in layers for p in l.params())
    print(f"network with {len(layers)} layers, {n_par} parameters, {args.optimizer}")
    opt = Adam(layers) if args.optimizer == "adam" else SGD(layers)

    hist = History()
    for epoch in range(args.epochs):
        order = rng.permutation(len(X))
        losses = []
        for s in range(0, len(X), args.batch):
            idx = order[s:s + args.batch]
            loss, d = softmax_cross_entropy(net.forward(X[idx]), y[idx])
            if not np.isfinite(loss):
                raise FloatingPointError(f"loss diverged in epoch {epoch}")
            net.backward(d)
            opt.step()
            losses.append(loss)
        acc = np.mean(net.predict(Xt) == yt)
        hist.loss.append(np.mean(losses))
        hist.accuracy.append(acc)
        print(f"epoch {epoch + 1:2d}  loss {hist.loss[-1]:.3f}  test accuracy {100 * acc:.1f}%")

    pred = net.predict(Xt)
    conf = np.zeros((4, 4), dtype=int)
    for t, p in zip(yt, pred):
        conf[t, p] += 1
    print("\nconfusion matrix (rows = truth)")
    print(" " * 10 + "".join(f"{c:>9s}" for c in CLASS_NAMES))
    for name, row in zip(CLASS_NAMES, conf):
        print(f"{name:>10s}" + "".join(f"{v:9d}" for v in row))
    recall = np.diag(conf) / conf.sum(axis=1)
    for name, r in zip(CLASS_NAMES, recall):
        print(f"  recall {name:8s} {r:.2f}")
    print(f"best epoch: {hist.best_epoch() + 1}")

if __name__ == "__main__":
    main()
