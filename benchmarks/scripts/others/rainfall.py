#!/usr/bin/env python3
"""Rainfall stations -> gridded field -> catchment statistics.

Reads (here: invents) station records, cleans them, finds neighbours, runs a
leave-one-out check of the IDW power, interpolates on a lon/lat grid, and gives
contour and catchment statistics.
"""
import argparse
import csv
import io
import math
from collections import defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np

EARTH_R = 6371.0
BBox = namedtuple("BBox", "west south east north")
BOX = BBox(5.0, 45.0, 12.0, 49.0)

@dataclass
class Station:
    sid: str
    lon: float
    lat: float
    elev: float
    rain: float

    @classmethod
    def from_row(cls, row):
        return cls(row["id"], float(row["lon"]), float(row["lat"]),
                   float(row["elev"]), float(row["rain"]))

def elevation(lon, lat):
    ridge = 2200 * np.exp(-((lat - 46.4 - 0.15 * (lon - 8)) / 0.6) ** 2)
    hills = 300 * np.sin(3.1 * lon) * np.cos(4.3 * lat)
    return np.maximum(ridge + hills + 350, 0)

def true_rain(lon, lat):
    return 600 + 0.35 * elevation(lon, lat) + 180 * np.sin(0.9 * lon + 0.4) * np.cos(1.3 * lat)

def fake_csv(n, seed):
    """CSV text with the usual defects: missing values, duplicates, outliers."""
    rng = np.random.default_rng(seed)
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["id", "lon", "lat", "elev", "rain"])
    for i in range(n):
        lon = rng.uniform(BOX.west, BOX.east)
        lat = rng.uniform(BOX.south, BOX.north)
        rain = true_rain(lon, lat) + rng.normal(0, 35)
        u = rng.random()
        if u < 0.02:
            rain_txt = "n/a"
        elif u < 0.03:
            rain_txt = f"{rain * 10:.1f}"
        else:
            rain_txt = f"{rain:.1f}"
        row = [f"S{i:04d}", f"{lon:.4f}", f"{lat:.4f}", f"{elevation(lon, lat):.0f}", rain_txt]
        w.writerow(row)
        if rng.random() < 0.01:
            w.writerow(row)
    return buf.getvalue()

def load_stations(text):
    stations, seen, problems = [], set(), defaultdict(int)
    for row in csv.DictReader(io.StringIO(text)):
        if row["id"] in seen:
            problems["duplicate"] += 1
            continue
        try:
            st = Station.from_row(row)
        except ValueError:
            problems["unparsable"] += 1
            continue
        seen.add(st.sid)
        if not 0 < st.rain < 3000:
            problems["outlier"] += 1
            continue
        stations.append(st)
    return stations, dict(problems)

def haversine(lon1, lat1, lon2, lat2):
    """Great-circle distance in km; scalars or arrays in degrees."""
    lon1, lat1, lon2, lat2 = map(np.radians, (lon1, lat1, lon2, lat2))
    a = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_R * np.arcsin(np.sqrt(np.clip(a, 0, 1)))

class StationNetwork:
    def __init__(self, stations):
        self.stations = stations
        self.lon = np.array([s.lon for s in stations])
        self.lat = np.array([s.lat for s in stations])
        self.elev = np.array([s.elev for s in stations])
        self.rain = np.array([s.rain for s in stations])
        self._dist = None

    def __len__(self):
        return len(self.stations)

    @property
    def dist(self):
        if self._dist is None:
            self._dist = haversine(self.lon[:, None], self.lat[:, None], self.lon, self.lat)
        return self._dist

    def nearest(self, i, k):
        order = np.argsort(self.dist[i], kind="stable")
        return order[1:k + 1]

    def fit_lapse(self):
        A = np.column_stack([np.ones(len(self)), self.elev])
        coef, *_ = np.linalg.lstsq(A, self.rain, rcond=None)
        return coef

    def idw_at(self, lon, lat, values, power=2.0, k=12, exclude=None):
        d = haversine(lon, lat, self.lon, self.lat)
        if exclude is not None:
            d[exclude] = np.inf
        idx = np.argpartition(d, k)[:k]
        dk = d[idx]
        if dk.min() < 0.05:
            return values[idx[dk.argmin()]]
        w = 1.0 / dk ** power
        return np.sum(w * values[idx]) / np.sum(w)

    def leave_one_out(self, values, power, k=12):
        err = []
        for i in range(len(self)):
            est = self.idw_at(self.lon[i], self.lat[i], values, power, k, exclude=i)
            err.append(est - values[i])
        err = np.array(err)
        return {"power": power, "rmse": np.sqrt((err ** 2).mean()), "bias": err.mean()}

    def interpolate_grid(self, glon, glat, values, power=2.0, k=12):
        out = np.empty((len(glat), len(glon)))
        for j, la in enumerate(glat):
            for i, lo in enumerate(glon):
                out[j, i] = self.idw_at(lo, la, values, power, k)
        return out

def point_in_polygon(x, y, poly):
    inside = False
    n = len(poly)
    j = n - 1
    for i in range(n):
        xi, yi = poly[i]
        xj, yj = poly[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        j = i
    return inside

def make_catchment(lon0, lat0, radius, seed, n=36):
    rng = np.random.default_rng(seed)
    ang = np.linspace(0, 2 * np.pi, n, endpoint=False)
    r = radius * (1 + 0.3 * np.sin(3 * ang + rng.uniform(0, 6)) + 0.1 * rng.normal(size=n))
    return np.column_stack([lon0 + r * np.cos(ang) / math.cos(math.radians(lat0)), lat0 + r * np.sin(ang)])

def polygon_area_km2(poly):
    lat0 = np.radians(poly[:, 1].mean())
    x = np.radians(poly[:, 0]) * np.cos(lat0) * EARTH_R
    y = np.radians(poly[:, 1]) * EARTH_R
    x, y = x - x.mean(), y - y.mean()
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))

def rasterize(poly, glon, glat):
    mask = np.zeros((len(glat), len(glon)), dtype=bool)
    (x0, y0), (x1, y1) = poly.min(axis=0), poly.max(axis=0)
    for j in np.flatnonzero((glat >= y0) & (glat <= y1)):
        for i in np.flatnonzero((glon >= x0) & (glon <= x1)):
            mask[j, i] = point_in_polygon(glon[i], glat[j], poly)
    return mask

def contour_length(field, level, glon, glat):
    """Length of the level line in km by marching squares (linear crossing)."""
    total, segments = 0.0, 0
    above = field > level
    busy = above[:-1, :-1].astype(int) + above[1:, :-1] + above[:-1, 1:] + above[1:, 1:]
    for j, i in zip(*np.nonzero((busy > 0) & (busy < 4))):
        corners = [(j, i), (j, i + 1), (j + 1, i + 1), (j + 1, i)]
        pts = []
        for (a, b), (c, d) in zip(corners, corners[1:] + corners[:1]):
            va, vb = field[a, b], field[c, d]
            if (va > level) != (vb > level):
                t = (level - va) / (vb - va)
                pts.append((glon[b] + t * (glon[d] - glon[b]), glat[a] + t * (glat[c] - glat[a])))
        for p, q in zip(pts[::2], pts[1::2]):
            dx = math.radians(q[0] - p[0]) * math.cos(math.radians(p[1]))
            dy = math.radians(q[1] - p[1])
            total += EARTH_R * math.hypot(dx, dy)
            segments += 1
    return total, segments

def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--stations", type=int, default=700)
    ap.add_argument("--step", type=float, default=0.03125)
    args = ap.parse_args()

    stations, problems = load_stations(fake_csv(args.stations, seed=5))
    net = StationNetwork(stations)
    print(f"{len(net)} stations kept; rejected: {problems}")

    upper = net.dist[np.triu_indices(len(net), 1)]
    nn = np.array([net.dist[i, net.nearest(i, 1)[0]] for i in range(len(net))])
    print(f"pair distances: median {np.median(upper):.0f} km, max {upper.max():.0f} km; "
          f"nearest neighbour mean {nn.mean():.1f} km, 95% {np.percentile(nn, 95):.1f} km")

    a, b = net.fit_lapse()
    resid = net.rain - (a + b * net.elev)
    print(f"rain = {a:.0f} + {b:.3f} * elev, residual sd {resid.std():.1f} mm")

    results = []
    for p in (1.0, 1.5, 2.0, 3.0):
        results.append(net.leave_one_out(resid, p))
        print(f"  IDW power {p:.1f}: rmse {results[-1]['rmse']:.2f}  bias {results[-1]['bias']:+.2f}")
    best = min(results, key=lambda r: r["rmse"])["power"]

    glon = np.arange(BOX.west, BOX.east + 1e-9, args.step)
    glat = np.arange(BOX.south, BOX.north + 1e-9, args.step)
    LON, LAT = np.meshgrid(glon, glat)
    field = net.interpolate_grid(glon, glat, resid, best) + a + b * elevation(LON, LAT)
    err = field - true_rain(LON, LAT)
    print(f"grid {field.shape}, power {best}: {field.min():.0f}..{field.max():.0f} mm, rms error {np.sqrt(np.mean(err**2)):.1f} mm")

    weights = np.cos(np.radians(LAT))
    cell = np.radians(args.step) ** 2 * EARTH_R ** 2 * weights
    for level in (600, 800, 1000, 1200, 1400):
        length, nseg = contour_length(field, level, glon, glat)
        area = cell[field > level].sum()
        print(f"  level {level:5d} mm: area above {area:8.0f} km2, contour {length:7.0f} km in {nseg} segments")

    print("catchments")
    for name, lon0, lat0, r, seed in [("Upper", 8.0, 46.5, 0.6, 1), ("Lake", 9.6, 47.4, 0.5, 2), ("West", 6.4, 46.2, 0.7, 3)]:
        poly = make_catchment(lon0, lat0, r, seed)
        mask = rasterize(poly, glon, glat)
        n_in = sum(point_in_polygon(s.lon, s.lat, poly) for s in stations)
        mean = np.average(field[mask], weights=weights[mask])
        vol = np.sum(field[mask] * cell[mask]) * 1e-6
        print(f"  {name:6s} polygon {polygon_area_km2(poly):7.0f} km2, cells {cell[mask].sum():7.0f} km2, "
              f"{n_in:3d} stations, mean {mean:6.0f} mm, volume {vol:.2f} km3")

if __name__ == "__main__":
    main()
