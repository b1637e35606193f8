"""Follow the leader against linear losses of changing sign, with and without a regulariser."""

from __future__ import annotations

import numpy as np
import picture

import noregret as nr

folder, _ = picture.asked(__doc__)
slopes = [-0.5, *[1.0, -1.0] * 20]
players = {
    "the leader": (nr.oco.FollowTheLeader(1, nr.domains.Box(-1.0, 1.0)), picture.ORANGE),
    "the regularised leader, η = 0.1": (
        nr.oco.FollowTheRegularizedLeader(1, nr.mirrors.Box(-1.0, 1.0), eta=0.1),
        picture.BLUE,
    ),
}
figure, (played, lost) = picture.page("Linear losses of changing sign on [-1, 1]", 2, height=3.4)
for name, (player, color) in players.items():
    points, losses = [], []
    for slope in slopes:
        points.append(player.play()[0])
        losses.append(player.face(nr.oco.Linear([slope])))
    played.plot(points, "o-", color=color, markersize=3, linewidth=1, label=name)
    lost.plot(np.cumsum(losses), color=color, label=name)
played.set(title="what is played", xlabel="round", ylabel="w")
lost.set(title="what is lost so far", xlabel="round", ylabel="loss")
lost.legend(frameon=False)
picture.write(figure, folder / "leaders.png")
