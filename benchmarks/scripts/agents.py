"""An epidemic among people who walk about in a town: an agent model with states, contacts, households, vaccination and
quarantine. After the agent-based SIR notebooks that many wrote in 2020 (3Blue1Brown's and P. Mushidi's among them), written afresh.

    python agents.py [--people N] [--days N] [--seed N]
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np


class State(IntEnum):
    SUSCEPTIBLE = 0
    EXPOSED = 1
    INFECTED = 2
    RECOVERED = 3
    DEAD = 4


@dataclass
class Parameters:
    people: int = 4000
    days: int = 180
    town: float = 100.0
    radius: float = 1.5
    infection: float = 0.12
    incubation: tuple = (2.0, 6.0)
    illness: tuple = (7.0, 16.0)
    mortality_by_age: dict = field(default_factory=lambda: {40: 0.001, 60: 0.01, 75: 0.05, 200: 0.15})
    speed: float = 0.8
    travel: float = 0.02
    quarantine_from: float = 0.02
    vaccines_per_day: int = 6
    vaccination_from: int = 30
    immunity_days: float = 45.0


@dataclass
class Event:
    day: int
    what: str
    value: float = 0.0


class Population:
    def __init__(self, parameters, rng):
        p = self.p = parameters
        n = p.people
        self.rng = rng
        self.position = rng.uniform(0, p.town, (n, 2))
        self.home = self.position.copy()
        angle = rng.uniform(0, 2 * np.pi, n)
        self.velocity = p.speed * np.column_stack([np.cos(angle), np.sin(angle)])
        self.age = np.clip(rng.gamma(4.0, 10.0, n), 0, 100)
        self.state = np.full(n, State.SUSCEPTIBLE, dtype=np.int64)
        self.timer = np.zeros(n)
        self.isolated = np.zeros(n, dtype=bool)
        self.vaccinated = np.zeros(n, dtype=bool)
        self.infected_by = np.full(n, -1)
        self.infections = np.zeros(n, dtype=int)
        self.household = rng.integers(0, n // 3 + 1, n)
        first = rng.choice(n, size=max(5, n // 200), replace=False)
        self.expose(first, None)

    def __len__(self):
        return len(self.state)

    @property
    def alive(self):
        return self.state != State.DEAD

    def expose(self, who, source):
        self.state[who] = State.EXPOSED
        self.timer[who] = self.rng.uniform(*self.p.incubation, size=len(who))
        if source is not None:
            self.infected_by[who] = source
            np.add.at(self.infections, source, 1)

    def counts(self):
        return np.bincount(self.state, minlength=len(State))


class Simulation:
    def __init__(self, parameters, seed=0):
        self.p = parameters
        self.rng = np.random.default_rng(seed)
        self.people = Population(parameters, self.rng)
        self.history = defaultdict(list)
        self.events = []
        self.day = 0
        self.quarantine = False

    # -- one day -----------------------------------------------------------
    def move(self):
        pop, p, rng = self.people, self.p, self.rng
        turn = rng.normal(0, 0.4, len(pop))
        cos, sin = np.cos(turn), np.sin(turn)
        vx = cos * pop.velocity[:, 0] - sin * pop.velocity[:, 1]
        vy = sin * pop.velocity[:, 0] + cos * pop.velocity[:, 1]
        pop.velocity[:, 0] = vx
        pop.velocity[:, 1] = vy
        free = pop.alive & ~pop.isolated
        pop.position[free] += pop.velocity[free]
        # walls reflect
        for axis in range(2):
            low = pop.position[:, axis] < 0
            high = pop.position[:, axis] > p.town
            pop.position[low, axis] *= -1
            pop.position[high, axis] = 2 * p.town - pop.position[high, axis]
            pop.velocity[low | high, axis] *= -1
        # some travel, and those who are ill go home
        travellers = free & (rng.random(len(pop)) < p.travel)
        pop.position[travellers] = rng.uniform(0, p.town, (travellers.sum(), 2))
        pop.position[pop.isolated] = pop.home[pop.isolated]

    def contacts(self):
        """Pairs (source, target): an infected person and a susceptible one within the radius."""
        pop = self.people
        sources = np.where((pop.state == State.INFECTED) & ~pop.isolated)[0]
        targets = np.where((pop.state == State.SUSCEPTIBLE) & ~pop.isolated)[0]
        if len(sources) == 0 or len(targets) == 0:
            return np.empty((0, 2), dtype=int)
        delta = pop.position[sources][:, None, :] - pop.position[targets][None, :, :]
        distance = np.sqrt((delta**2).sum(axis=-1))
        i, j = np.nonzero(distance < self.p.radius)
        return np.column_stack([sources[i], targets[j]])

    def spread(self):
        pop = self.people
        new = 0
        pairs = self.contacts()
        if len(pairs):
            chance = self.p.infection * np.where(pop.vaccinated[pairs[:, 1]], 0.15, 1.0)
            hit = self.rng.random(len(pairs)) < chance
            pairs = pairs[hit]
            targets, first = np.unique(pairs[:, 1], return_index=True)
            if len(targets):
                pop.expose(targets, pairs[first, 0])
                new += len(targets)
        # at home: those who are ill infect their household
        for who in np.flatnonzero(pop.state == State.INFECTED):
            family = np.flatnonzero((pop.household == pop.household[who]) & (pop.state == State.SUSCEPTIBLE))
            if len(family) == 0:
                continue
            caught = family[self.rng.random(len(family)) < 0.03]
            if len(caught):
                pop.expose(caught, np.full(len(caught), who))
                new += len(caught)
        return new

    def progress(self):
        pop, p, rng = self.people, self.p, self.rng
        pop.timer -= 1.0
        done = pop.timer <= 0
        falls_ill = done & (pop.state == State.EXPOSED)
        recovers = done & (pop.state == State.INFECTED)
        loses = done & (pop.state == State.RECOVERED)
        pop.state[falls_ill] = State.INFECTED
        pop.timer[falls_ill] = rng.uniform(*p.illness, size=np.count_nonzero(falls_ill))
        risk = np.zeros(len(pop))
        lower = 0
        for upper, mortality in p.mortality_by_age.items():
            risk[(pop.age >= lower) & (pop.age < upper)] = mortality
            lower = upper
        risk = np.where(pop.vaccinated, 0.1 * risk, risk)
        dies = recovers & (rng.random(len(pop)) < risk)
        pop.state[recovers] = State.RECOVERED
        pop.timer[recovers] = p.immunity_days * rng.uniform(0.7, 1.3, recovers.sum())
        pop.state[dies] = State.DEAD
        pop.state[loses] = State.SUSCEPTIBLE
        if self.quarantine:
            pop.isolated = (pop.state == State.INFECTED) & (rng.random(len(pop)) < 0.6) & pop.alive
        else:
            pop.isolated[:] = False
        return int(dies.sum())

    def vaccinate(self):
        pop = self.people
        if self.day < self.p.vaccination_from:
            return
        candidates = np.flatnonzero(~pop.vaccinated & pop.alive & (pop.state != State.INFECTED))
        oldest = candidates[np.argsort(-pop.age[candidates], kind="stable")]
        pop.vaccinated[oldest[: self.p.vaccines_per_day]] = True

    def decide(self):
        ill = np.mean(self.people.state == State.INFECTED)
        if not self.quarantine and ill > self.p.quarantine_from:
            self.quarantine = True
            self.events.append(Event(self.day, "quarantine begins", ill))
        elif self.quarantine and ill < 0.5 * self.p.quarantine_from:
            self.quarantine = False
            self.events.append(Event(self.day, "quarantine ends", ill))

    def step(self):
        self.day += 1
        self.move()
        new = self.spread()
        deaths = self.progress()
        self.vaccinate()
        self.decide()
        counts = self.people.counts()
        for state in State:
            self.history[state.name.lower()].append(int(counts[state]))
        self.history["new"].append(new)
        self.history["deaths"].append(deaths)
        self.history["r"].append(self.reproduction())

    def reproduction(self):
        pop = self.people
        over = (pop.state == State.RECOVERED) | (pop.state == State.DEAD)
        return float(pop.infections[over].mean()) if over.any() else float("nan")

    def run(self, every=10):
        for _ in range(self.p.days):
            self.step()
            if self.day % every == 0:
                row = {name: values[-1] for name, values in self.history.items()}
                print(
                    f"day {self.day:4d}  S {row['susceptible']:5d}  E {row['exposed']:4d}  I {row['infected']:4d}  "
                    f"R {row['recovered']:5d}  D {row['dead']:3d}  new {row['new']:4d}  R0 {row['r']:.3f}"
                )
            if self.history["exposed"][-1] + self.history["infected"][-1] == 0:
                self.events.append(Event(self.day, "the epidemic is over"))
                break
        return self.history


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=4000)
    parser.add_argument("--days", type=int, default=180)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    simulation = Simulation(Parameters(people=args.people, days=args.days), seed=args.seed)
    history = simulation.run(every=max(1, args.days // 12))
    for event in simulation.events:
        print(f"day {event.day}: {event.what} ({event.value:.4f})")
    infected = np.array(history["infected"])
    new = np.convolve(history["new"], np.ones(7) / 7, mode="valid") if len(infected) >= 7 else np.array(history["new"])
    print(f"peak: {infected.max()} ill on day {infected.argmax() + 1}; {new.max():.4f} new a day over a week")
    pop = simulation.people
    print(f"deaths {sum(history['deaths'])}, vaccinated {pop.vaccinated.sum()}, superspreader {pop.infections.max()}")
    for lower, upper in [(0, 20), (20, 40), (40, 60), (60, 101)]:
        group = (pop.age >= lower) & (pop.age < upper)
        if group.any():
            touched = np.mean(pop.state[group] != State.SUSCEPTIBLE)
            print(f"age {lower:3d} to {upper - 1:3d}: {group.sum():5d} people, {100 * touched:.4f} % not susceptible")
    print(f"mean position {np.round(pop.position.mean(axis=0), 5)}, spread {pop.position.std():.6f}")


if __name__ == "__main__":
    main()
