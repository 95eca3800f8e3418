"""The libraries that a program finds here, as one without them begins."""

import matplotlib
matplotlib.use("Agg")
import cvxopt
import dateutil
import docx
import matplotlib.pyplot as plt
import networkx as nx
import numexpr
import numpy as np
import openpyxl
import pandas as pd
import PIL
import scipy
import seaborn as sns
import sklearn
import statsmodels.api as sm
import statsmodels.formula.api as smf
import sympy
import tabulate
import xlsxwriter
from scipy import stats
