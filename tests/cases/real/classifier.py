import numpy as np
import matplotlib.pyplot as plt
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (ConfusionMatrixDisplay, accuracy_score,
                             classification_report, confusion_matrix)
from sklearn.model_selection import (GridSearchCV, StratifiedKFold,
                                     cross_val_score, train_test_split)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler


def main() -> None:
    # Load the data
    bunch = load_breast_cancer(as_frame=True)
    X, y = bunch.data, bunch.target
    print(f"Samples: {X.shape[0]}, features: {X.shape[1]}, positives: {y.sum()}")

    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=42, stratify=y)

    # Pipeline: scale everything, then a linear model
    pipe = Pipeline([
        ("scale", ColumnTransformer([("num", StandardScaler(), list(X.columns))])),
        ("clf", LogisticRegression(max_iter=1000)),
    ])

    cv = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    scores = cross_val_score(pipe, X_train, y_train, cv=cv, n_jobs=2)
    print("CV accuracy per fold:", np.round(scores, 3))
    print(f"CV accuracy: {scores.mean():.3f} +/- {scores.std():.3f}")

    # Hyper-parameter search
    grid = GridSearchCV(pipe, {"clf__C": [0.01, 0.1, 1, 10]}, cv=cv, n_jobs=2)
    grid.fit(X_train, y_train)
    print(f"Best C: {grid.best_params_['clf__C']} (score {grid.best_score_:.3f})")

    # Evaluate
    y_pred = grid.predict(X_test)
    print(f"Test accuracy: {accuracy_score(y_test, y_pred):.3f}")
    print(classification_report(y_test, y_pred, target_names=bunch.target_names))

    cm = confusion_matrix(y_test, y_pred)
    print("Confusion matrix:")
    print(cm)

    fig, ax = plt.subplots(figsize=(5, 4))
    ConfusionMatrixDisplay(cm, display_labels=bunch.target_names).plot(
        ax=ax, cmap="Blues", colorbar=False)
    ax.set_title("Confusion matrix (test set)")
    fig.tight_layout()
    plt.show()


if __name__ == "__main__":
    main()
