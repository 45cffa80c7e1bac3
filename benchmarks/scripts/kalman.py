"""Tracks of radar plots: Kalman filter, gate, smoother, consistency. The idiom of R. Labbe's "Kalman and Bayesian Filters in Python" and of filterpy, written afresh.

python kalman.py [--small]
"""

import argparse
from collections import namedtuple

import numpy as np

Track = namedtuple("Track", "truth measurements kind")


class KalmanFilter:
    """Linear filter: x and P are the state and its covariance, F Q H R the model."""

    def __init__(self, dim_x, dim_z):
        self.dim_x = dim_x
        self.dim_z = dim_z
        self.x = np.zeros((dim_x, 1))
        self.P = np.eye(dim_x)
        self.Q = np.eye(dim_x)
        self.F = np.eye(dim_x)
        self.H = np.zeros((dim_z, dim_x))
        self.R = np.eye(dim_z)
        self.K = np.zeros((dim_x, dim_z))
        self.y = np.zeros((dim_z, 1))
        self.S = np.zeros((dim_z, dim_z))
        self.log_likelihood = 0.0
        self._I = np.eye(dim_x)

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z, gate=None):
        """Takes a measurement; False where it was missing or outside of the gate."""
        if z is None or np.isnan(z).any():
            return False
        z = z.reshape(-1, 1)
        self.y = z - self.H @ self.x
        PHT = self.P @ self.H.T
        self.S = self.H @ PHT + self.R
        SI = np.linalg.inv(self.S)
        d2 = (self.y.T @ SI @ self.y)[0, 0]
        if gate is not None and d2 > gate:
            return False
        self.K = PHT @ SI
        self.x = self.x + self.K @ self.y
        I_KH = self._I - self.K @ self.H
        self.P = I_KH @ self.P @ I_KH.T + self.K @ self.R @ self.K.T
        self.log_likelihood += -0.5 * (d2 + np.log(np.linalg.det(self.S)) + self.dim_z * np.log(2 * np.pi))
        return True

    @property
    def residual_std(self):
        return np.sqrt(np.diag(self.S))


def rts_smoother(xs, Ps, F, Q):
    """Rauch, Tung and Striebel, from the last step to the first."""
    n = len(xs)
    x, P = xs.copy(), Ps.copy()
    for k in range(n - 2, -1, -1):
        Pp = F @ P[k] @ F.T + Q
        C = np.linalg.solve(Pp, F @ P[k]).T
        x[k] += C @ (x[k + 1] - F @ x[k])
        P[k] += C @ (P[k + 1] - Pp) @ C.T
    return x, P


def constant_velocity(dt, q):
    F = np.array([[1, dt, 0, 0], [0, 1, 0, 0], [0, 0, 1, dt], [0, 0, 0, 1]])
    block = q * np.array([[dt**4 / 4, dt**3 / 2], [dt**3 / 2, dt**2]])
    Q = np.zeros((4, 4))
    Q[:2, :2] = block
    Q[2:, 2:] = block
    return F, Q


def simulate(rng, steps, dt, noise, kind):
    """A target that flies straight, turns, or changes speed; some plots are lost and some are clutter."""
    pos = rng.uniform(-500, 500, 2)
    vel = rng.normal(0, 12, 2)
    truth = np.zeros((steps, 4))
    zs = np.zeros((steps, 2))
    for k in range(steps):
        if kind == "turn" and steps // 3 <= k < steps // 2:
            w = 0.03
            vel = np.array([[np.cos(w), -np.sin(w)], [np.sin(w), np.cos(w)]]) @ vel
        elif kind == "speed" and k == steps // 2:
            vel = vel * 1.5
        vel = vel + rng.normal(0, 0.05, 2)
        pos = pos + vel * dt
        truth[k] = pos[0], vel[0], pos[1], vel[1]
        zs[k] = pos + rng.normal(0, noise, 2)
        u = rng.random()
        if u < 0.05:
            zs[k] = np.nan
        elif u < 0.08:
            zs[k] += rng.normal(0, 25 * noise, 2)
    return Track(truth, zs, kind)


def make_filter(track, dt, q, noise):
    f = KalmanFilter(4, 2)
    f.F, f.Q = constant_velocity(dt, q)
    f.H = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]])
    f.R *= noise**2
    first = track.measurements[~np.isnan(track.measurements).any(axis=1)][0]
    f.x = np.array([[first[0]], [0.0], [first[1]], [0.0]])
    f.P *= 400.0
    return f


def run_track(track, dt, q, noise, gate=16.0):
    f = make_filter(track, dt, q, noise)
    n = len(track.measurements)
    xs = np.zeros((n, 4, 1))
    Ps = np.zeros((n, 4, 4))
    used = 0
    nees = []
    misses = 0
    for k, z in enumerate(track.measurements):
        f.predict()
        if f.update(z, gate if misses < 5 else None):
            used += 1
            misses = 0
        else:
            misses += 1
        xs[k], Ps[k] = f.x, f.P
        if k > 20:
            e = track.truth[k].reshape(4, 1) - f.x
            nees.append((e.T @ np.linalg.inv(f.P) @ e).item())
    smoothed, Psm = rts_smoother(xs, Ps, f.F, f.Q)
    return {
        "filtered": xs[:, :, 0],
        "smoothed": smoothed[:, :, 0],
        "Ps": Psm,
        "used": used,
        "nees": np.mean(nees),
        "log_likelihood": f.log_likelihood,
    }


def rmse(estimate, truth, columns):
    return np.sqrt(np.mean(np.sum((estimate[:, columns] - truth[:, columns]) ** 2, axis=1)))


def choose_q(tracks, dt, noise, candidates):
    """The process noise with the largest likelihood over a few tracks."""
    best = None
    for q in candidates:
        total = 0.0
        for track in tracks:
            f = make_filter(track, dt, q, noise)
            for z in track.measurements:
                f.predict()
                f.update(z)
            total += f.log_likelihood
        print(f"  q = {q:<6g} log likelihood {total:.4f}")
        if best is None or total > best[1]:
            best = (q, total)
    return best[0]


def straightened(track):
    """The track without clutter, for the choice of q."""
    zs = track.measurements.copy()
    far = np.hypot(*(zs - track.truth[:, [0, 2]]).T) > 30
    zs[far] = np.nan
    return track._replace(measurements=zs)


def main():
    parser = argparse.ArgumentParser(description="Kalman filter and smoother over simulated tracks")
    parser.add_argument("--small", action="store_true", help="few short tracks")
    args = parser.parse_args()
    n_tracks, steps = (4, 60) if args.small else (120, 400)
    dt, noise = 0.5, 5.0

    rng = np.random.default_rng(11)
    kinds = ["straight", "turn", "speed"]
    tracks = [simulate(rng, steps, dt, noise, kinds[i % 3]) for i in range(n_tracks)]
    lost = sum(int(np.isnan(t.measurements[:, 0]).sum()) for t in tracks)
    print(f"{n_tracks} tracks of {steps} plots, {lost} plots lost")

    print("process noise by likelihood:")
    q = choose_q([straightened(t) for t in tracks[:4]], dt, noise, [0.01, 0.1, 0.5, 2.0])
    print(f"  chosen: q = {q}")

    table = {}
    for i, track in enumerate(tracks):
        result = run_track(track, dt, q, noise)
        row = {
            "raw": np.sqrt(np.nanmean(np.sum((track.measurements - track.truth[:, [0, 2]]) ** 2, axis=1))),
            "filter": rmse(result["filtered"], track.truth, [0, 2]),
            "smoother": rmse(result["smoothed"], track.truth, [0, 2]),
            "speed": rmse(result["smoothed"], track.truth, [1, 3]),
            "nees": result["nees"],
            "used": result["used"],
        }
        table.setdefault(track.kind, []).append(row)
        if i % 20 == 0:
            print(
                f"track {i:3d} ({track.kind:<8}) used {row['used']}/{steps}  "
                f"filter {row['filter']:.4f}  smoother {row['smoother']:.4f}  NEES {row['nees']:.4f}"
            )

    print(f"{'kind':<10}{'tracks':>7}{'raw':>10}{'filter':>10}{'smoother':>10}{'speed':>10}{'NEES':>9}")
    for kind, rows in table.items():
        means = [np.mean([row[key] for row in rows]) for key in ("raw", "filter", "smoother", "speed", "nees")]
        print(f"{kind:<10}{len(rows):>7}" + "".join(f"{m:>10.4f}" for m in means[:4]) + f"{means[4]:>9.4f}")

    rows = [row for rows in table.values() for row in rows]
    gain = np.mean([row["filter"] / row["smoother"] for row in rows])
    print(f"the smoother is {gain:.5f} times nearer than the filter; {sum(r['used'] for r in rows)} plots were used")


if __name__ == "__main__":
    main()
